"""What everything stands on: records, serial numbers, tables of states, deadlines and buffers. It knows no AMQP."""
