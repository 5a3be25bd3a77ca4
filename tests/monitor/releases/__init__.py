"""Tests of the way from a release on hold to a file that is proved."""
