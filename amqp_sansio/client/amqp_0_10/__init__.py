"""A client of 0-10: connections, sessions, subscriptions, publishing and transactions, for any driver."""
