"""Statistics over many hosts: like-for-like groups, outliers, changes, services that behave alike."""
