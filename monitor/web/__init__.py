"""The web application: pages, the JSON API, and who may use them."""
