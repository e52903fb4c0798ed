"""Stand-in for the parent package of the Gaudi software; of accel-tui's tests alone."""
