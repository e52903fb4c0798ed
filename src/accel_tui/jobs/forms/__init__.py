"""A form of a job, made from the declared fields: texts, differences, faults, what matters and why not. No screen."""
