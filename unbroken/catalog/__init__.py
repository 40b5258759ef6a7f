"""Facts as data: instance types and regions. No AWS calls, no settings of ours."""
