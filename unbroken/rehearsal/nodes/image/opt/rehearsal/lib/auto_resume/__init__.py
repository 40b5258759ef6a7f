"""What ``srun --auto-resume=1`` becomes inside a job: it runs the step, asks the agent, and retries."""
