"""Sessions and jobs: declared fields, selectors, launchers, checks and planning."""
