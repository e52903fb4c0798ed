"""Provider contract, probe processes with deadlines, sampler and history."""
