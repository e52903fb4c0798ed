"""The per-user process: queue, reservations, sampling, recording and re-adoption of runs."""
