"""Facts as data: instance types, regions, prices, what FSx offers. No AWS calls, no settings of ours."""
