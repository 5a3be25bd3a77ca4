"""People and incidents: the verbs in one transaction each, typed times, history from ticket systems."""
