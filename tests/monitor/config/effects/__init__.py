"""The effects of the keys of the configuration: for each a pair of values that something observable differs by.

`effect` describes an entry, `of_checks`, `of_hierarchies` and the other modules hold the tables, one for each area.
"""
