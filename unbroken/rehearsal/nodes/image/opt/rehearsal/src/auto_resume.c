/*
 * srun --auto-resume=0|1 on stock Slurm: the option of HyperPod, offered by a SPANK plugin.
 *
 * Here: the option, the start line of each task, the news of a failed task, and srun turning into the helper.
 * Not here: any decision. The helper (auto_resume, Python) asks the cluster agent and retries the step.
 *
 * Built by setup.sh; loaded through plugstack.conf, which the cluster agent writes.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(auto_resume, 1);

#define PYTHON "/usr/bin/python3"
#define HELPER "/opt/rehearsal/lib/start_auto_resume.py"
#define NOTIFY "AUTO_RESUME_NOTIFY" /* address:port of the helper that started this srun */
#define MAX_ARGS 4096
#define MAX_COMMAND_LINE (1 << 17)
#define NOTIFY_TIMEOUT_SECONDS 2

static int enabled = 0;

static int set_enabled(int val, const char *optarg, int remote)
{
    (void) val;
    (void) remote;
    if (!optarg || (strcmp(optarg, "0") != 0 && strcmp(optarg, "1") != 0)) {
        slurm_error("--auto-resume takes 0 or 1");
        return -1;
    }
    enabled = optarg[0] == '1';
    return 0;
}

static struct spank_option option = {
    "auto-resume", "0|1", "resume the step on healthy nodes after a hardware failure", 1, 0, set_enabled,
};

static int inside_a_job(void)
{
    return getenv("SLURM_JOB_ID") != NULL;
}

/*
 * srun and slurmstepd know the option, sbatch and salloc do not ("unrecognized option", as on HyperPod).
 * A job must outlive the loss of one of its nodes to be resumed, so submissions default to --no-kill, which
 * Slurm reads from the environment after this call; the variables must be empty.
 */
int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    (void) argc;
    (void) argv;
    switch (spank_context()) {
    case S_CTX_ALLOCATOR:
        setenv("SBATCH_NO_KILL", "", 0);
        setenv("SALLOC_NO_KILL", "", 0);
        return 0;
    case S_CTX_LOCAL:
    case S_CTX_REMOTE:
        return (int) spank_option_register(spank, &option);
    default:
        return 0;
    }
}

/* Fill command with the helper's own words, then srun's arguments as the kernel has them. */
static void helper_command(char **command, char *buffer, ssize_t length)
{
    int count = 0;
    ssize_t at = (ssize_t) strlen(buffer) + 1;

    command[count++] = PYTHON;
    command[count++] = "-Es";
    command[count++] = HELPER;
    for (; at < length && count < MAX_ARGS - 1; at += (ssize_t) strlen(buffer + at) + 1)
        command[count++] = buffer + at;
    command[count] = NULL;
}

static int become_helper(void)
{
    static char buffer[MAX_COMMAND_LINE];
    static char *command[MAX_ARGS];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, buffer, sizeof buffer - 1);

    if (fd >= 0)
        close(fd);
    if (length > 0) {
        helper_command(command, buffer, length);
        execv(PYTHON, command);
    }
    slurm_error("auto-resume: cannot start %s: %m", HELPER);
    return -1;
}

/* srun inside a job becomes the helper, which starts srun again as its child with NOTIFY set. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    (void) spank;
    (void) argc;
    (void) argv;
    if (!enabled || spank_context() != S_CTX_LOCAL || getenv(NOTIFY) || !inside_a_job())
        return 0;
    return become_helper();
}

/* One line to the helper; its absence is not an error of the job's. */
static void notify(const char *where, const char *line)
{
    char address[64];
    int port;
    struct timeval timeout = {NOTIFY_TIMEOUT_SECONDS, 0};
    struct sockaddr_in to = {.sin_family = AF_INET};

    if (!where || sscanf(where, "%63[^:]:%d", address, &port) != 2)
        return;
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        return;
    to.sin_port = htons((uint16_t) port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (struct sockaddr *) &to, sizeof to) == 0 && write(fd, line, strlen(line)) < 0)
        slurm_debug("auto-resume: the helper did not take the news");
    close(fd);
}

/* In srun, once the step exists: its number, so that the helper can tell its news from an older step's. */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
    uint32_t job, step;
    char line[64];

    (void) argc;
    (void) argv;
    if (!enabled || !getenv(NOTIFY))
        return 0;
    if (spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_STEPID, &step))
        return 0;
    snprintf(line, sizeof line, "start %u %u\n", job, step);
    notify(getenv(NOTIFY), line);
    return 0;
}

static int task_ids(spank_t spank, uint32_t *job, uint32_t *step, uint32_t *task)
{
    return spank_get_item(spank, S_JOB_ID, job) || spank_get_item(spank, S_JOB_STEPID, step) ||
           spank_get_item(spank, S_TASK_GLOBAL_ID, task);
}

/* In the task's process just before it runs: file descriptor 2 is the task's own standard error. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    uint32_t job, step, task;

    (void) argc;
    (void) argv;
    if (!enabled || task_ids(spank, &job, &step, &task))
        return 0;
    dprintf(2, "[Auto Resume] Info: JobID: %u StepID: %u TaskID: %u process_task_init\n", job, step, task);
    return 0;
}

/* In slurmstepd: a task that ended with anything but success is news for the helper. */
int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
    uint32_t job, step, task;
    int status = 0;
    char where[64], host[256], line[384];

    (void) argc;
    (void) argv;
    if (!enabled || spank_get_item(spank, S_TASK_EXIT_STATUS, &status) || status == 0)
        return 0;
    if (spank_getenv(spank, NOTIFY, where, sizeof where) || task_ids(spank, &job, &step, &task))
        return 0;
    gethostname(host, sizeof host);
    snprintf(line, sizeof line, "exit %u %u %u %d %s\n", job, step, task, status, host);
    notify(where, line);
    return 0;
}
