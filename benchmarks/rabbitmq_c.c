/* One client of rabbitmq-c for the end-to-end benchmark: prints its CPU seconds for one job of `count` messages.

   The jobs are those of asyncio_client.py. Arguments: job, host, port, count. Build with -lrabbitmq. */

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WINDOW = 1000, SIZE = 128 };

static amqp_connection_state_t connection;

static void check(int is_right, const char *what) {
  if (!is_right) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
  }
}

static void check_reply(const char *what) {
  check(amqp_get_rpc_reply(connection).reply_type == AMQP_RESPONSE_NORMAL, what);
}

static double cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void publish(void) {
  static char octets[SIZE];
  amqp_basic_properties_t properties;
  amqp_bytes_t body = {SIZE, octets};
  memset(octets, 'x', SIZE);
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.content_type = amqp_cstring_bytes("text/plain");
  properties.delivery_mode = 1;
  check(amqp_basic_publish(connection, 1, amqp_cstring_bytes("bench.void"), amqp_cstring_bytes("key"), 0, 0,
                           &properties, body) == AMQP_STATUS_OK, "basic.publish");
}

/* Wait until all publishes of a window are confirmed, the last of which has this number. */
static void wait_confirmed(long last) {
  char confirmed[WINDOW] = {0};
  int waiting = WINDOW;
  amqp_frame_t frame;
  while (waiting) {
    amqp_maybe_release_buffers(connection);
    check(amqp_simple_wait_frame(connection, &frame) == AMQP_STATUS_OK, "waiting for a frame");
    check(frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD, "a confirm");
    amqp_basic_ack_t *ack = frame.payload.method.decoded;
    int end = WINDOW - (last - (long)ack->delivery_tag);
    for (int place = ack->multiple ? 0 : end - 1; place < end; place++) {
      waiting -= !confirmed[place];
      confirmed[place] = 1;
    }
  }
}

static void consume(long count, int no_ack) {
  amqp_envelope_t envelope;
  if (!no_ack) amqp_basic_qos(connection, 1, 0, WINDOW, 0);
  amqp_basic_consume(connection, 1, amqp_cstring_bytes("bench.full"), amqp_empty_bytes, 0, no_ack, 0, amqp_empty_table);
  check_reply("basic.consume");
  for (long seen = 0; seen < count; seen++) {
    amqp_maybe_release_buffers(connection);
    check(amqp_consume_message(connection, &envelope, NULL, 0).reply_type == AMQP_RESPONSE_NORMAL, "a delivery");
    check(envelope.message.body.len == SIZE, "a body of 128 octets");
    if (!no_ack) check(amqp_basic_ack(connection, 1, envelope.delivery_tag, 0) == AMQP_STATUS_OK, "basic.ack");
    amqp_destroy_envelope(&envelope);
  }
}

int main(int argc, char **argv) {
  check(argc == 5, "reading the arguments (job, host, port, count)");
  const char *job = argv[1];
  long count = atol(argv[4]);
  connection = amqp_new_connection();
  check(!amqp_socket_open(amqp_tcp_socket_new(connection), argv[2], atoi(argv[3])), "connecting");
  check(amqp_login(connection, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest").reply_type ==
        AMQP_RESPONSE_NORMAL, "the login");
  amqp_channel_open(connection, 1);
  check_reply("channel.open");
  if (!strcmp(job, "confirm")) amqp_confirm_select(connection, 1);
  double start = cpu();
  if (!strcmp(job, "consume") || !strcmp(job, "ack")) {
    consume(count, !strcmp(job, "consume"));
  } else {
    for (long number = 1; number <= count; number++) {
      publish();
      if (!strcmp(job, "confirm") && number % WINDOW == 0) wait_confirmed(number);
    }
  }
  printf("%.4f\n", cpu() - start);
  return 0;
}
