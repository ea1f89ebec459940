"""How services react to where their memory lies: anon against file, stability, objectives."""
