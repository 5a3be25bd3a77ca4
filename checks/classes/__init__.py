"""Equivalence classes of a table, formed and counted inside the engine: what checks of disclosure risk ask for."""
