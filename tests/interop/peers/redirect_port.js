'use strict';
// Loaded before a program of another project (`node --require`) whose broker's port can't be told to it: what it
// connects to 5672, on whichever host, goes to the port that AMQP_REDIRECTED_PORT names.

const net = require('node:net');

const port = Number(process.env.AMQP_REDIRECTED_PORT);
if (!(port > 0)) throw new Error('AMQP_REDIRECTED_PORT names no port');

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...given) {
  // net.connect() hands on its own arguments as one list that is in order already.
  const [options] = Array.isArray(given[0]) ? given[0] : given;
  if (options !== null && typeof options === 'object' && Number(options.port) === 5672) options.port = port;
  return connect.apply(this, given);
};
