"""The agents on real Slurm: one cluster for all, in the order of the file; each test leaves it idle again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rehearsal.agents.conftest import Cluster

pytestmark = pytest.mark.nodes

FIRST, SECOND, THIRD = "ip-10-0-128-11", "ip-10-0-128-12", "ip-10-0-128-13"
REPLACE, REBOOT = "Action:Replace", "Action:Reboot"

# A task that runs until it is told to end, or to die by a signal.
TASK = """#!/bin/bash
echo "task $SLURM_PROCID on $(hostname) step $SLURM_STEP_ID of $SLURM_JOB_NODELIST"
for i in $(seq 1200); do
    [ -e /fsx/end-$SLURM_JOB_ID ] && exit 0
    [ -e /fsx/die-$SLURM_JOB_ID-$SLURM_PROCID ] && kill -9 $$
    sleep 0.05
done
"""
JOB = """#!/bin/bash
echo "batch restart ${SLURM_RESTART_COUNT:-0} on $(hostname)"
srun $AUTO -l bash /fsx/task.sh
echo "srun returned $?"
"""


@pytest.fixture(autouse=True)
def _idle_afterwards(cluster: Cluster) -> Iterator[None]:
    cluster.do("put", path="/fsx/task.sh", text=TASK)
    cluster.do("put", path="/fsx/job.sh", text=JOB)
    yield
    cluster.settle()


def launch(cluster: Cluster, *options: str, nodes: int = 3, auto: bool = True) -> str:
    """A job whose tasks all run."""
    job = cluster.submit(
        f"-N{nodes}", "--ntasks-per-node=1", *options, command="/fsx/job.sh", AUTO=f"--auto-resume={auto:d}"
    )
    cluster.wait("the tasks run", lambda: cluster.output(job).count(" step 0 ") == nodes)
    return job


def running_again(cluster: Cluster, job: str, step: int) -> None:
    cluster.wait(f"step {step} runs", lambda: cluster.output(job).count(f" step {step} ") == 3)


def finish(cluster: Cluster, job: str) -> str:
    """End the tasks well; the job's whole output."""
    cluster.run(f"touch /fsx/end-{job}", user="ubuntu")
    cluster.wait("the job ends", lambda: cluster.job_state(job) in ("COMPLETING", "COMPLETED"))
    return cluster.output(job)


def mark(cluster: Cluster, node: str, reason: str, state: str = "fail") -> None:
    cluster.run(f"scontrol update nodename={node} state={state} reason='{reason}'")


@pytest.mark.behaviour("HP101")
def test_the_agent_leaves_every_node_but_the_controller(cluster: Cluster) -> None:
    show = "systemctl show -p ActiveState -p Result -p ExecMainStatus sagemaker-cluster-agent"
    assert set(cluster.run(show, node=FIRST).split()) == {
        "ActiveState=inactive",
        "Result=success",
        "ExecMainStatus=0",
    }
    assert "ActiveState=active" in cluster.run(show)
    assert "LISTEN" in cluster.run("ss -Hltn sport = :4001")


@pytest.mark.behaviour("HP102")
def test_slurmd_is_configless(cluster: Cluster) -> None:
    assert "slurm.conf" in cluster.run("ls /opt/slurm/etc").split()
    assert "slurm.conf" not in cluster.run("ls /opt/slurm/etc", node=FIRST).split()
    cached = cluster.run("ls /var/spool/slurmd/conf-cache", node=FIRST).split()
    assert {"slurm.conf", "cgroup.conf", "plugstack.conf"} <= set(cached)
    assert "--conf-server 10.0.128.10" in cluster.run("ps -o args= -C slurmd", node=FIRST)


@pytest.mark.behaviour("HP103")
def test_the_option_belongs_to_srun_inside_a_job(cluster: Cluster) -> None:
    refused = cluster.run("sbatch --auto-resume=1 /fsx/job.sh", user="ubuntu")
    assert "sbatch: unrecognized option '--auto-resume=1'" in refused
    assert "--auto-resume" in cluster.run("srun --help")
    job = launch(cluster, nodes=1)
    assert f"0: [Auto Resume] Info: JobID: {job} StepID: 0 TaskID: 0 process_task_init" in cluster.output(job)
    assert "srun returned 0" in finish(cluster, job)


@pytest.mark.behaviour("HP122")
@pytest.mark.parametrize(("options", "left"), [((), FIRST), (("--no-kill=off",), "")])
def test_a_job_outlives_the_loss_of_a_node_by_default(
    cluster: Cluster, options: tuple[str, ...], left: str
) -> None:
    job = cluster.submit("-N2", "-w", f"{FIRST},{SECOND}", *options, command="--wrap 'sleep 60'")
    cluster.wait("the job runs", lambda: cluster.job_state(job) == "RUNNING")
    mark(cluster, SECOND, "taken away by a person", state="down")
    nodes = f"scontrol -o show job {job} | grep -o ' NodeList=[^ ]*' | cut -d= -f2"
    cluster.wait("the node is out of the job", lambda: cluster.run(nodes) == left)
    assert cluster.job_state(job) == ("RUNNING" if left == FIRST else "PENDING")
    cluster.run(f"scancel {job}; scontrol update nodename={SECOND} state=resume")


@pytest.mark.behaviour("HP104")
def test_a_reason_counts_only_to_the_letter(cluster: Cluster) -> None:
    for miss in ("action:replace", "Action: Replace", "Action:Replace.", "Action:Replace "):
        mark(cluster, SECOND, miss)
        cluster.wait("the near miss is shown", lambda: cluster.state(SECOND) == "fail")
    before = len(cluster.requested())
    mark(cluster, THIRD, REPLACE)
    cluster.wait("the exact reason is acted on", lambda: cluster.events("replaced"))
    assert cluster.requested()[before:] == [(THIRD, REPLACE)]
    cluster.run(f"scontrol update nodename={SECOND} state=resume")


@pytest.mark.behaviour("HP105")
def test_a_marked_node_is_replaced_when_its_jobs_have_ended(cluster: Cluster) -> None:
    job = launch(cluster, "-w", FIRST, nodes=1, auto=False)
    before = len(cluster.requested())
    mark(cluster, FIRST, REPLACE)
    mark(cluster, SECOND, REPLACE)
    cluster.wait("the idle node is asked for", lambda: (SECOND, REPLACE) in cluster.requested()[before:])
    assert cluster.state(FIRST) == "failing"
    assert (FIRST, REPLACE) not in cluster.requested()[before:]
    assert "srun returned 0" in finish(cluster, job)
    cluster.wait("then the other", lambda: (FIRST, REPLACE) in cluster.requested()[before:])


@pytest.mark.behaviour("HP106")
def test_reboot_is_asked_for_by_its_own_reason(cluster: Cluster) -> None:
    before = len(cluster.requested())
    mark(cluster, THIRD, REBOOT)
    cluster.wait("the node is asked for", lambda: len(cluster.requested()) > before)
    assert cluster.requested()[before:] == [(THIRD, REBOOT)]


@pytest.mark.behaviour("HP107")
def test_without_node_recovery_nodes_are_marked_only(cluster: Cluster) -> None:
    cluster.do("agent", settings={"NodeRecovery": "None"})
    before, marked = len(cluster.requested()), len(cluster.events("marked"))
    cluster.do("power_off", node=SECOND)
    cluster.wait("the lost node is marked", lambda: len(cluster.events("marked")) > marked)
    cluster.do("agent", settings={"NodeRecovery": "Automatic"})
    mark(cluster, THIRD, REPLACE)
    cluster.wait("another node is asked for", lambda: (THIRD, REPLACE) in cluster.requested()[before:])
    assert (SECOND, REPLACE) not in cluster.requested()[before:]
    assert cluster.run(f"sinfo -h -N -n {SECOND} -o '%E' | head -1").startswith(REPLACE)
    cluster.do("revive", node=SECOND)
    cluster.run(f"scontrol update nodename={SECOND} state=resume")


@pytest.mark.behaviour("HP108")
def test_a_lost_node_is_swapped_and_the_step_retried(cluster: Cluster) -> None:
    job = launch(cluster)
    for attempt, lost in ((1, [SECOND]), (2, [SECOND, THIRD])):
        for node in lost:
            cluster.do("power_off", node=node)
        running_again(cluster, job, attempt)
        assert f"Retrying step. Attempt number: {attempt}" in cluster.output(job)
    said = finish(cluster, job)
    about = f"[Auto Resume] Info: JobID: {job} StepID: 0 "
    lines = (
        "Initiating communication with cluster agent to diagnose health of nodes",
        f"Response from cluster agent: JobId={job}, ResumeAction=RETRYSTEP",
        "Job failed - replacing nodes",
        "Job failed - Droping unhealthy nodes",
        "Succesfully shrink job to retain healthy nodes ip-10-0-128-[11,13]",
        "Job Expansion complete",
        "Updating to new node list ip-10-0-128-[11-13]",
        "Retrying step. Attempt number: 1",
    )
    places = [said.index(about + line) for line in lines]
    assert places == sorted(places)
    assert "batch restart 1" not in said
    assert "srun returned 0" in said


@pytest.mark.behaviour("HP109")
def test_with_its_batch_host_a_job_is_requeued_under_its_id(cluster: Cluster) -> None:
    job = launch(cluster)
    cluster.do("power_off", node=FIRST)
    cluster.wait("it starts again", lambda: cluster.output(job).count(" step 0 ") == 6, timeout=40)
    said = finish(cluster, job)
    assert "batch restart 1 on " in said
    assert "ResumeAction" not in said


@pytest.mark.behaviour("HP110")
def test_without_a_hardware_fault_the_step_is_not_retried(cluster: Cluster) -> None:
    job = launch(cluster)
    cluster.run(f"touch /fsx/die-{job}-1", user="ubuntu")
    cluster.wait("the job ends", lambda: cluster.job_state(job) == "COMPLETED")
    said = cluster.output(job)
    assert "TaskID: 1 Task failed on node ip-10-0-128-12" in said
    assert "Successfully terminated the step since task exited with status: 9" in said
    assert f"Response from cluster agent: JobId={job}, ResumeAction=NONE" in said
    assert said.endswith("srun returned 137")


@pytest.mark.behaviour("HP111")
def test_a_failed_task_beside_a_marked_node_is_a_hardware_failure(cluster: Cluster) -> None:
    job = launch(cluster)
    mark(cluster, THIRD, REPLACE)
    cluster.wait("the mark is seen", lambda: cluster.state(THIRD) == "failing")
    cluster.run(f"touch /fsx/die-{job}-1", user="ubuntu")
    running_again(cluster, job, 1)
    cluster.run(f"rm /fsx/die-{job}-1")
    said = cluster.output(job)
    assert "TaskID: 1 Task failed on node ip-10-0-128-12" in said
    assert "Succesfully shrink job to retain healthy nodes ip-10-0-128-[11-12]" in said


@pytest.mark.behaviour("HP112")
def test_a_job_nobody_resumes_is_requeued(cluster: Cluster) -> None:
    job = launch(cluster, auto=False)
    cluster.do("power_off", node=THIRD)
    cluster.wait("it starts again", lambda: cluster.output(job).count(" step 0 ") == 6, timeout=40)
    assert "batch restart 1 on " in finish(cluster, job)


@pytest.mark.behaviour("HP113")
def test_slurmd_on_the_controller_deletes_slurm_conf(cluster: Cluster) -> None:
    unit = "slurmd_DO_NOT_START_ON_CONTROLLER"
    cluster.run(f"systemctl start {unit}")
    cluster.wait("the file is gone", lambda: "slurm.conf" not in cluster.run("ls /opt/slurm/etc").split())
    cluster.run(f"systemctl stop {unit}; systemctl restart sagemaker-cluster-agent")
    cluster.wait("the agent writes it anew", lambda: "slurm.conf" in cluster.run("ls /opt/slurm/etc").split())


@pytest.mark.behaviour("HP114")
def test_edits_by_hand_are_lost_and_accounting_conf_is_kept(cluster: Cluster) -> None:
    cluster.run("echo '# by hand' >>/opt/slurm/etc/slurm.conf; echo '# ours' >/opt/slurm/etc/accounting.conf")
    cluster.do("config")
    cluster.wait("it is rewritten", lambda: "# by hand" not in cluster.run("cat /opt/slurm/etc/slurm.conf"))
    assert cluster.run("tail -1 /opt/slurm/etc/slurm.conf") == "include accounting.conf"
    assert cluster.run("cat /opt/slurm/etc/accounting.conf") == "# ours"


@pytest.mark.behaviour("HP115")
def test_an_admins_drain_is_left_alone(cluster: Cluster) -> None:
    before = len(cluster.requested())
    mark(cluster, SECOND, "looking into it", state="drain")
    cluster.wait("the drain is seen", lambda: cluster.state(SECOND) == "drained")
    cluster.do("power_off", node=SECOND)
    cluster.do("power_off", node=THIRD)
    cluster.wait("the other lost node is asked for", lambda: cluster.requested()[before:])
    assert cluster.requested()[before:] == [(THIRD, REPLACE)]
    assert cluster.run(f"sinfo -h -N -n {SECOND} -o '%E' | head -1") == "looking into it"
    cluster.do("revive", node=SECOND)
    cluster.run(f"scontrol update nodename={SECOND} state=resume")


@pytest.mark.behaviour("HP120")
def test_a_configuration_that_refuses_to_resume(cluster: Cluster) -> None:
    up = "until scontrol ping | grep -q UP; do sleep 0.1; done"
    again = f"systemctl restart slurmctld; {up}; scontrol reconfigure"
    cluster.run(f"echo PrologFlags=Alloc >/opt/slurm/etc/accounting.conf; {again}")
    job = launch(cluster)
    cluster.run(f"touch /fsx/die-{job}-1", user="ubuntu")
    cluster.wait("the task dies", lambda: "task 1: Killed" in cluster.output(job))
    said = finish(cluster, job)
    assert said.endswith("srun returned 137")
    for line in (
        "Config unsupported : PrologFlags=Alloc",
        "Slurm configuration doesn't allow to resume a job.",
    ):
        assert f"[Auto Resume] Error: JobID: {job} StepID: 0 {line}" in said
    assert said.count("process_task_init") == 3
    assert "Initiating communication" not in said
    cluster.run(f"echo '#' >/opt/slurm/etc/accounting.conf; {again}")


@pytest.mark.behaviour("HP121")
def test_slurm_follows_the_cluster_as_it_grows_and_shrinks(cluster: Cluster) -> None:
    job = launch(cluster, "-w", FIRST, nodes=1, auto=False)
    before = len(cluster.requested())
    added = cluster.do("grow")
    cluster.wait("the new node is idle", lambda: cluster.state(added) == "idle")
    assert cluster.run(f"srun -w {added} hostname", user="ubuntu") == added
    cluster.do("shrink", node=added)
    cluster.wait("it is gone from Slurm", lambda: added not in cluster.run("sinfo -h -N -o %N").split())
    assert cluster.requested()[before:] == []
    assert "srun returned 0" in finish(cluster, job)


@pytest.mark.behaviour("HP116")
def test_with_gres_the_whole_job_is_requeued(cluster: Cluster) -> None:
    cluster.do(
        "agent", settings={"Emulator": {"Gres": True, "InstanceTypes": {"ml.p4de.24xlarge": {"Gpus": 8}}}}
    )
    cluster.wait("nodes offer GPUs", lambda: "gpu:8" in cluster.run(f"sinfo -h -N -n {FIRST} -o %G"))
    for node in (FIRST, SECOND, THIRD):  # a node started before its GPUs were configured is drained
        cluster.run("systemctl restart slurmd", node=node)
    resume = "for n in 11 12 13; do scontrol update nodename=ip-10-0-128-$n state=resume; done 2>/dev/null"
    cluster.wait("the GPU nodes are idle", lambda: cluster.run(resume) == "" and cluster.states() == {"idle"})
    before = len(cluster.requested())
    job = launch(cluster, "--gres=gpu:8")
    cluster.do("power_off", node=SECOND)
    cluster.wait("it starts again", lambda: cluster.output(job).count(" step 0 ") == 6, timeout=40)
    said = finish(cluster, job)
    assert f"Response from cluster agent: JobId={job}, ResumeAction=RETRYSTEP" in said
    assert "batch restart 1 on " in said
    assert "Job Expansion complete" not in said
    assert cluster.requested()[before:] == [(SECOND, REPLACE)]
