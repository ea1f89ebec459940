"""What-if of cost: prices, scenarios, results."""
