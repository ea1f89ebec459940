"""Statistics over many hosts: peer groups, outliers, change points, services that behave alike."""
