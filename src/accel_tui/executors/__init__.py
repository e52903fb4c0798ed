"""Where a plan runs: starts keepers and supervisors so that they outlive the terminal."""
