"""Run folders: names, states, atomic writes, and what a folder says about its run."""
