import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * RabbitMQ's Java client as a client under test, in 0-9-1; pom.xml has what it needs. With the jars and the class on
 * the path: amqp-sansio probe --client 'java -cp JARS:. RabbitClient'
 */
public final class RabbitClient {
  private static final String QUEUE = System.getenv("AMQP_QUEUE");

  private RabbitClient() {}

  public static void main(String[] arguments) throws Exception {
    String[] words = System.getenv("AMQP_DO").split(" ");
    if (!System.getenv("AMQP_VERSION").equals("0-9-1")) {
      System.exit(89);
    }
    int count = words.length > 1 ? Integer.parseInt(words[1]) : 1;
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(System.getenv("AMQP_URL"));
    factory.setAutomaticRecoveryEnabled(false);
    factory.setVirtualHost("/");
    Connection connection = factory.newConnection();
    CountDownLatch ended = new CountDownLatch(1);
    connection.addShutdownListener(signal -> {
      closed(signal);
      ended.countDown();
    });
    switch (words[0]) {
      case "open" -> open(connection, ended);
      case "publish" -> publish(connection, count);
      case "consume" -> consume(connection, count, words[words.length - 1].equals("reject"));
      case "rpc" -> rpc(connection);
      default -> System.exit(89);
    }
    if (connection.isOpen()) {
      connection.close();
    }
    // The program ends with the connection's threads, which still answer the server's close.
  }

  private static void open(Connection connection, CountDownLatch ended) throws InterruptedException {
    connection.addBlockedListener(reason -> say("blocked", ""), () -> say("unblocked", ""));
    say("opened", "");
    ended.await();
  }

  private static void publish(Connection connection, int count) throws Exception {
    Channel channel = connection.createChannel();
    Map<Long, String> outcomes = new ConcurrentHashMap<>();
    Set<String> returned = ConcurrentHashMap.newKeySet();
    CountDownLatch left = new CountDownLatch(count);
    channel.confirmSelect();
    channel.addReturnListener(back -> returned.add(back.getProperties().getMessageId()));
    channel.addConfirmListener(
        (tag, multiple) -> settle(outcomes, left, tag, multiple, returned, "accepted"),
        (tag, multiple) -> settle(outcomes, left, tag, multiple, returned, "rejected"));
    channel.addShutdownListener(signal -> {
      closed(signal);
      while (left.getCount() > 0) {
        left.countDown();
      }
    });
    try {
      for (int number = 1; number <= count; number++) {
        AMQP.BasicProperties about = new AMQP.BasicProperties.Builder().messageId("" + number).build();
        channel.basicPublish("", QUEUE, true, about, body(number));
      }
    } catch (AlreadyClosedException early) {
      System.err.println(early);
    }
    left.await();
    for (long number = 1; number <= count; number++) {
      String outcome = outcomes.getOrDefault(number, "unknown");
      say("published", ", \"number\": " + number + ", \"outcome\": \"" + outcome + "\"");
    }
  }

  private static synchronized void settle(
      Map<Long, String> outcomes, CountDownLatch left, long tag, boolean multiple, Set<String> returned, String word) {
    for (long each = multiple ? 1 : tag; each <= tag; each++) {
      String outcome = word.equals("accepted") && returned.contains("" + each) ? "returned" : word;
      if (outcomes.putIfAbsent(each, outcome) == null) {
        left.countDown();
      }
    }
  }

  private static void consume(Connection connection, int count, boolean reject) throws Exception {
    Channel channel = connection.createChannel();
    channel.basicQos(100);
    AtomicInteger left = new AtomicInteger(count);
    CountDownLatch done = new CountDownLatch(1);
    long busy = (long) (1000 * Double.parseDouble(System.getenv("AMQP_BUSY")));
    String tag = channel.basicConsume(QUEUE, false, new DefaultConsumer(channel) {
      @Override
      public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties about, byte[] body)
          throws IOException {
        if (left.get() == 0) {
          return; // It came while the consumer was being cancelled.
        }
        try {
          Thread.sleep(busy);
        } catch (InterruptedException early) {
          return;
        }
        String text = ", \"body\": \"" + new String(body, StandardCharsets.UTF_8) + "\"";
        say("received", text + ", \"redelivered\": " + envelope.isRedeliver());
        if (reject) {
          channel.basicReject(envelope.getDeliveryTag(), false);
        } else {
          channel.basicAck(envelope.getDeliveryTag(), false);
        }
        if (left.decrementAndGet() == 0) {
          done.countDown();
        }
      }

      @Override
      public void handleCancel(String tag) {
        say("cancelled", "");
        done.countDown();
      }

      @Override
      public void handleShutdownSignal(String tag, ShutdownSignalException signal) {
        done.countDown();
      }
    });
    done.await();
    if (left.get() == 0 && channel.isOpen()) {
      channel.basicCancel(tag);
    }
  }

  private static void rpc(Connection connection) throws Exception {
    Channel channel = connection.createChannel();
    String replies = channel.queueDeclare().getQueue();
    CountDownLatch done = new CountDownLatch(1);
    channel.basicConsume(replies, true, (tag, reply) -> {
      if ("1".equals(reply.getProperties().getCorrelationId())) {
        say("reply", ", \"body\": \"" + new String(reply.getBody(), StandardCharsets.UTF_8) + "\"");
        done.countDown();
      }
    }, tag -> done.countDown());
    AMQP.BasicProperties about = new AMQP.BasicProperties.Builder().correlationId("1").replyTo(replies).build();
    channel.basicPublish("", QUEUE, about, "request".getBytes(StandardCharsets.UTF_8));
    done.await();
  }

  private static byte[] body(int number) {
    StringBuilder text = new StringBuilder("" + number);
    while (text.length() < Integer.parseInt(System.getenv("AMQP_SIZE"))) {
      text.append('.');
    }
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Tells what the server ended; an end that the program asked for isn't told. */
  private static void closed(ShutdownSignalException signal) {
    if (signal.isInitiatedByApplication()) {
      return;
    }
    Method reason = signal.getReason();
    String code = "";
    String text = "" + signal.getMessage();
    if (reason instanceof AMQP.Connection.Close close) {
      code = "" + close.getReplyCode();
      text = close.getReplyText();
    } else if (reason instanceof AMQP.Channel.Close close) {
      code = "" + close.getReplyCode();
      text = close.getReplyText();
    }
    String scope = signal.isHardError() ? "connection" : "channel";
    String quoted = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
    say("closed", ", \"scope\": \"" + scope + "\", \"code\": \"" + code + "\", \"text\": \"" + quoted + "\"");
  }

  private static synchronized void say(String event, String about) {
    System.out.println("{\"event\": \"" + event + "\"" + about + "}");
  }
}
