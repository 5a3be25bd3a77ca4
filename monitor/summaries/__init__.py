"""What is measured from the store and the configuration: downtime, cost, health, the catalogue."""
