"""Ask ad hoc how likely it is that records of a table or a file are found again."""
