"""The verb `rehearse`: deploy on this machine, train, break a node, watch it recover, destroy, report.

run.py is the story; every other module is one part of it: places (folders), capability and environment (may
it run here), sweep (what a killed rehearsal left), server (the embedded AWS), cdk, cluster (nodes and Slurm),
job, drill (the fault and what follows), leftovers, reduced (without nodes), reporting.
"""
