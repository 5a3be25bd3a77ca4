"""One file for each kind of channel: how a composed message is delivered, and what may go wrong.

In: a message. Out: `DeliverySucceeded` or `DeliveryFailed`. `addresses` and `timed_socket` are what webhooks share:
no request goes to a private network, and all of it has one deadline.
"""
