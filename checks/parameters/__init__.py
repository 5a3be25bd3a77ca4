"""Types of what people configure: column names, durations, times of day, weekdays, time zones, exact numbers.

In: text of a YAML file. Out: typed values, or an error that says what was seen and what was expected. Checks, remedies
and the configuration share them.
"""
