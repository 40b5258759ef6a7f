"""The verb `rehearse`: deploy on this machine, train, break a node, watch it recover, destroy, report.

run.py is the story, full.py and reduced.py its two forms, deployment.py the stages they share. Parts of it:
capability and environment (may it run here), places (folders), smaller (the file as rehearsed), cluster
(nodes and Slurm), job, drill (the fault and what follows), node_failure, leftovers, reporting; sweep (what a
killed rehearsal left), kept and ending (one that was left up).
"""
