import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import javax.jms.BytesMessage;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.TemporaryQueue;
import org.apache.qpid.AMQException;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.client.AMQConnectionFactory;

/**
 * Apache Qpid's JMS client for 0-8 to 0-10 as a client under test, in 0-10; pom.xml has what it needs. With the jars
 * and the class on the path: amqp-sansio probe --client 'java -Dqpid.amqp.version=0-10 -cp JARS:. QpidClient'
 */
public final class QpidClient {
  /** The address of the queue: as a queue, and without asking whether it is there. */
  private static final String QUEUE = System.getenv("AMQP_QUEUE") + "; {assert: never, node: {type: queue}}";

  private static final CountDownLatch ENDED = new CountDownLatch(1);

  private QpidClient() {}

  public static void main(String[] arguments) throws Exception {
    String[] words = System.getenv("AMQP_DO").split(" ");
    // JMS has no rejection.
    if (!System.getenv("AMQP_VERSION").equals("0-10") || words[words.length - 1].equals("reject")) {
      System.exit(89);
    }
    int count = words.length > 1 ? Integer.parseInt(words[1]) : 1;
    try {
      AMQConnection connection = new AMQConnectionFactory(url()).createConnection();
      connection.setExceptionListener(error -> {
        closed(error);
        ENDED.countDown();
      });
      connection.start();
      switch (words[0]) {
        case "open" -> open();
        case "publish" -> publish(connection, count);
        case "consume" -> consume(connection, count);
        case "rpc" -> rpc(connection);
        default -> System.exit(89);
      }
      connection.close();
    } catch (JMSException error) {
      System.err.println(error);
      System.exit(1);
    }
    // Threads of the library would go on.
    System.exit(0);
  }

  /** The address in the client's own form, without its failover: each message is published synchronously. */
  private static String url() {
    String[] parts = System.getenv("AMQP_URL").replaceAll("^amqp://|/$", "").split("@");
    return "amqp://" + parts[0] + "@probe/?failover='nofailover'&sync_publish='all'&brokerlist='tcp://" + parts[1]
        + "?retries='0'&connecttimeout='5000''";
  }

  private static void open() throws InterruptedException {
    say("opened", "");
    ENDED.await();
  }

  private static void publish(AMQConnection connection, int count) throws JMSException {
    Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    MessageProducer producer = session.createProducer(session.createQueue(QUEUE));
    for (int number = 1; number <= count; number++) {
      String outcome = "accepted";
      try {
        producer.send(message(session, body(number)));
      } catch (JMSException error) {
        System.err.println(error);
        outcome = "unknown";
      }
      say("published", ", \"number\": " + number + ", \"outcome\": \"" + outcome + "\"");
    }
  }

  private static void consume(AMQConnection connection, int count) throws Exception {
    Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
    MessageConsumer consumer = session.createConsumer(session.createQueue(QUEUE));
    long busy = (long) (1000 * Double.parseDouble(System.getenv("AMQP_BUSY")));
    for (int left = count; left > 0;) {
      Message message = consumer.receive(500);
      if (message == null) {
        if (ENDED.getCount() == 0) {
          return;
        }
        continue;
      }
      Thread.sleep(busy);
      say("received", text(message) + ", \"redelivered\": " + message.getJMSRedelivered());
      message.acknowledge();
      left--;
    }
    consumer.close();
  }

  private static void rpc(AMQConnection connection) throws JMSException {
    Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    TemporaryQueue replies = session.createTemporaryQueue();
    MessageConsumer consumer = session.createConsumer(replies);
    Queue queue = session.createQueue(QUEUE);
    Message request = message(session, "request".getBytes(StandardCharsets.UTF_8));
    request.setJMSReplyTo(replies);
    request.setJMSCorrelationID("1");
    session.createProducer(queue).send(request);
    while (ENDED.getCount() > 0) {
      Message reply = consumer.receive(500);
      if (reply != null && "1".equals(reply.getJMSCorrelationID())) {
        say("reply", text(reply));
        return;
      }
    }
  }

  private static Message message(Session session, byte[] body) throws JMSException {
    BytesMessage message = session.createBytesMessage();
    message.writeBytes(body);
    return message;
  }

  private static byte[] body(int number) {
    String text = "" + number;
    return (text + ".".repeat(Math.max(0, Integer.parseInt(System.getenv("AMQP_SIZE")) - text.length())))
        .getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Message message) throws JMSException {
    byte[] octets = new byte[0];
    if (message instanceof BytesMessage bytes) {
      octets = new byte[(int) bytes.getBodyLength()];
      bytes.readBytes(octets);
    }
    return ", \"body\": \"" + new String(octets, StandardCharsets.UTF_8) + "\"";
  }

  /** Tells what the server ended: a session's exception ends the connection of JMS, too. */
  private static void closed(JMSException error) {
    Throwable cause = error;
    while (cause != null && !(cause instanceof AMQException)) {
      cause = cause instanceof JMSException outer && outer.getLinkedException() != null
          ? outer.getLinkedException() : cause.getCause();
    }
    String code = cause instanceof AMQException known ? "" + known.getErrorCode() : "";
    String about = ", \"scope\": \"connection\", \"code\": \"" + quoted(code) + "\"";
    say("closed", about + ", \"text\": \"" + quoted("" + error.getMessage()) + "\"");
  }

  private static String quoted(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
  }

  private static synchronized void say(String event, String about) {
    System.out.println("{\"event\": \"" + event + "\"" + about + "}");
  }
}
