// Client scenarios on Apache Qpid's JMS client for AMQP 0-10, run as a program: `java Client_0_10 PORT SCENARIO`.
// Users are guest with the password guest. What happened is printed as one line of JSON on standard output.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.StreamMessage;
import javax.jms.TemporaryQueue;
import javax.jms.TextMessage;
import javax.jms.XASession;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.client.AMQConnectionURL;
import org.apache.qpid.client.XAConnectionImpl;

public final class Client_0_10 extends Shared {
    private interface Scenario {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        port = Integer.parseInt(arguments[0]);
        Scenario scenario = scenarios().get(arguments[1]);
        if (scenario == null) {
            throw new IllegalArgumentException("no scenario " + arguments[1]);
        }
        // Threads of a connection keep the program running otherwise.
        try {
            System.out.println(json(scenario.run()));
            System.exit(0);
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static Map<String, Scenario> scenarios() {
        Map<String, Scenario> all = new TreeMap<>();
        all.put("basic", Client_0_10::basic);
        all.put("password", () -> refused(() -> connect(url("guest", "wrong", "/", "", ""))));
        all.put("vhost", () -> refused(() -> connect(url("guest", "guest", "/elsewhere", "", ""))));
        all.put("scram", Client_0_10::scram);
        all.put("auto", Client_0_10::auto);
        all.put("client", Client_0_10::client);
        all.put("dupsOk", Client_0_10::dupsOk);
        all.put("transacted", Client_0_10::transacted);
        all.put("types", Client_0_10::types);
        all.put("foreign", Client_0_10::foreign);
        all.put("large", Client_0_10::large);
        all.put("browser", Client_0_10::browser);
        all.put("sessions", Client_0_10::sessions);
        all.put("prefetch", () -> prefetch(5));
        all.put("single", () -> prefetch(0));
        all.put("listener", Client_0_10::listener);
        all.put("temporary", Client_0_10::temporary);
        all.put("topic", Client_0_10::topic);
        all.put("acquire", Client_0_10::acquire);
        all.put("recover", Client_0_10::recover);
        all.put("heartbeat", Ends::heartbeat);
        all.put("waiting", Ends::waiting);
        all.put("closing", Ends::closing);
        all.put("absent", Ends::absent);
        all.put("refusing", Ends::refusing);
        all.put("clientId", Ends::clientId);
        all.put("failover", Ends::failover);
        all.put("branches", Client_0_10::branches);
        return all;
    }

    // The scenarios.

    private static Object basic() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "basic");
        MessageProducer producer = session.createProducer(queue);
        for (int n = 0; n < 50; n++) {
            TextMessage message = session.createTextMessage("m" + n);
            message.setIntProperty("n", n);
            message.setBooleanProperty("even", n % 2 == 0);
            producer.send(message);
        }
        List<Object> received = new ArrayList<>();
        MessageConsumer consumer = session.createConsumer(queue);
        for (int n = 0; n < 50; n++) {
            TextMessage message = (TextMessage) consumer.receive(WAIT);
            received.add(list(message.getText(), message.getIntProperty("n"), message.getBooleanProperty("even")));
        }
        Object left = consumer.receive(SHORT);
        connection.close();
        return map("version", connection.getProtocolVersion().toString(), "received", received, "left", left);
    }

    private static Object scram() throws Exception {
        AMQConnection connection = connect(url("guest", "guest", "/", "", "sasl_mechs='SCRAM-SHA-256'"));
        Object found = roundTrip(connection, "scram");
        connection.close();
        return found;
    }

    private static Object auto() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        List<Object> found = texts(session.createConsumer(queue(session, "auto")), 3);
        session.close();
        connection.close();
        return found;
    }

    private static Object client() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        Queue queue = queue(session, "client");
        send(session, queue, "one", "two", "three", "four");
        MessageConsumer consumer = session.createConsumer(queue);
        texts(consumer, 2);
        Message third = consumer.receive(WAIT);
        third.acknowledge();
        Object fourth = redelivery(consumer.receive(WAIT));
        session.close();
        Session other = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Object again = redelivery(other.createConsumer(queue(other, "client")).receive(WAIT));
        connection.close();
        return map("fourth", fourth, "again", again);
    }

    private static Object dupsOk() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.DUPS_OK_ACKNOWLEDGE);
        Queue queue = queue(session, "dups");
        send(session, queue, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9");
        List<Object> found = texts(session.createConsumer(queue), 10);
        session.close();
        connection.close();
        return found;
    }

    private static Object transacted() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        Queue queue = queue(session, "transacted");
        Session observing = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        QueueBrowser browser = observing.createBrowser(queue(observing, "transacted"));
        send(session, queue, "kept", "kept too");
        session.commit();
        Object committed = texts(browser);
        send(session, queue, "gone");
        session.rollback();
        Object rolledBack = texts(browser);
        MessageConsumer consumer = session.createConsumer(queue);
        Object first = redelivery(consumer.receive(WAIT));
        session.rollback();
        Object again = redelivery(consumer.receive(WAIT));
        session.commit();
        Object left = redelivery(consumer.receive(WAIT));
        session.commit();
        Object nothing = consumer.receive(SHORT);
        connection.close();
        return map("committed", committed, "rolledBack", rolledBack, "first", first, "again", again,
                "left", left, "nothing", nothing);
    }

    private static Object types() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "types");
        MessageProducer producer = session.createProducer(queue);

        TextMessage text = session.createTextMessage("\u00e4\u00f6\u00fc\u20ac");
        text.setBooleanProperty("yes", true);
        text.setByteProperty("byte", (byte) -5);
        text.setShortProperty("short", (short) -500);
        text.setIntProperty("int", -70_000);
        text.setLongProperty("long", 1L << 40);
        text.setFloatProperty("float", 1.5f);
        text.setDoubleProperty("double", -2.25);
        text.setStringProperty("string", "\u00e4");
        text.setJMSCorrelationID("correlation");
        text.setJMSType("kind");
        text.setJMSReplyTo(queue(session, "replies"));
        producer.send(text, DeliveryMode.NON_PERSISTENT, 7, 60_000);

        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(new byte[] {0, (byte) 0xff, 1});
        producer.send(bytes);

        MapMessage maps = session.createMapMessage();
        maps.setInt("int", 7);
        maps.setString("string", "seven");
        maps.setBytes("bytes", new byte[] {7});
        maps.setDouble("double", 7.5);
        maps.setLong("long", -7);
        maps.setBoolean("yes", true);
        producer.send(maps);

        StreamMessage stream = session.createStreamMessage();
        stream.writeString("first");
        stream.writeInt(2);
        producer.send(stream);

        producer.send(session.createMessage());

        MessageConsumer consumer = session.createConsumer(queue);
        List<Object> found = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            found.add(all(consumer.receive(WAIT)));
        }
        found.add(map("id is sent", text.getJMSMessageID().startsWith("ID:")));
        connection.close();
        return found;
    }

    // Messages that another client has put into the queue.
    private static Object foreign() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(queue(session, "foreign"));
        List<Object> found = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            found.add(all(consumer.receive(WAIT)));
        }
        connection.close();
        return found;
    }

    private static Object large() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "large");
        byte[] body = new byte[1_000_000];
        for (int n = 0; n < body.length; n++) {
            body[n] = (byte) (n % 251);
        }
        MessageProducer producer = session.createProducer(queue);
        for (int n = 0; n < 3; n++) {
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(body);
            producer.send(message);
        }
        MessageConsumer consumer = session.createConsumer(queue);
        List<Object> same = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            BytesMessage message = (BytesMessage) consumer.receive(WAIT);
            byte[] found = new byte[(int) message.getBodyLength()];
            message.readBytes(found);
            same.add(Arrays.equals(found, body));
        }
        connection.close();
        return same;
    }

    private static Object browser() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "browser");
        send(session, queue, "one", "two", "three");
        QueueBrowser browser = session.createBrowser(queue);
        Object seen = texts(browser);
        Object again = texts(browser);
        browser.close();
        Object taken = texts(session.createConsumer(queue), 3);
        connection.close();
        return map("seen", seen, "again", again, "taken", taken);
    }

    private static Object sessions() throws Exception {
        AMQConnection connection = open();
        List<Session> sessions = new ArrayList<>();
        List<MessageConsumer> consumers = new ArrayList<>();
        for (int n = 0; n < 10; n++) {
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            sessions.add(session);
            consumers.add(session.createConsumer(queue(session, "many." + n)));
            // Two consumers on one queue, which share what comes.
            consumers.add(session.createConsumer(queue(session, "shared")));
        }
        List<Object> own = new ArrayList<>();
        for (int n = 0; n < 10; n++) {
            Session next = sessions.get((n + 1) % 10);
            send(next, queue(next, "many." + n), "to " + n);
            send(next, queue(next, "shared"), "shared " + n);
        }
        List<String> shared = new ArrayList<>();
        for (int n = 0; n < 10; n++) {
            own.addAll(texts(consumers.get(2 * n), 1));
        }
        long end = System.currentTimeMillis() + WAIT;
        while (shared.size() < 10 && System.currentTimeMillis() < end) {
            for (int n = 0; n < 10; n++) {
                TextMessage message = (TextMessage) consumers.get(2 * n + 1).receiveNoWait();
                if (message != null) {
                    shared.add(message.getText());
                }
            }
        }
        Collections.sort(shared);
        sessions.get(0).close();
        Object behind = texts(sessions.get(1).createConsumer(queue(sessions.get(1), "many.0")), 0);
        connection.close();
        return map("own", own, "shared", shared, "behind", behind);
    }

    private static Object prefetch(int size) throws Exception {
        AMQConnection connection = connect(url("guest", "guest", "/", "maxprefetch='" + size + "'", ""));
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(queue(session, "prefetch"));
        List<Object> found = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            TextMessage message = (TextMessage) consumer.receive(WAIT);
            found.add(message.getText());
            message.acknowledge();
        }
        connection.close();
        return found;
    }

    private static Object listener() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        BlockingQueue<String> found = new LinkedBlockingQueue<>();
        MessageConsumer consumer = session.createConsumer(queue(session, "listener"));
        consumer.setMessageListener((message) -> {
            try {
                found.add(((TextMessage) message).getText());
            } catch (JMSException error) {
                found.add(error.toString());
            }
        });
        Session other = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        send(other, queue(other, "listener"), "one", "two", "three");
        List<Object> heard = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            heard.add(found.poll(WAIT, TimeUnit.MILLISECONDS));
        }
        connection.stop();
        send(other, queue(other, "listener"), "stopped");
        Object silent = found.poll(SHORT, TimeUnit.MILLISECONDS);
        connection.start();
        Object resumed = found.poll(WAIT, TimeUnit.MILLISECONDS);
        connection.close();
        return map("heard", heard, "silent", silent, "resumed", resumed);
    }

    private static Object temporary() throws Exception {
        AMQConnection connection = open();
        Session serving = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer requests = serving.createConsumer(queue(serving, "requests"));
        requests.setMessageListener((message) -> {
            try {
                TextMessage answer = serving.createTextMessage("re: " + ((TextMessage) message).getText());
                answer.setJMSCorrelationID(message.getJMSMessageID());
                serving.createProducer(message.getJMSReplyTo()).send(answer);
            } catch (JMSException error) {
                error.printStackTrace();
            }
        });
        Session asking = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        TemporaryQueue replies = asking.createTemporaryQueue();
        MessageConsumer consumer = asking.createConsumer(replies);
        TextMessage request = asking.createTextMessage("question");
        request.setJMSReplyTo(replies);
        asking.createProducer(queue(asking, "requests")).send(request);
        TextMessage answer = (TextMessage) consumer.receive(WAIT);
        Object found = map("name", replies.getQueueName(), "answer", answer.getText(),
                "same", request.getJMSMessageID().equals(answer.getJMSCorrelationID()));
        consumer.close();
        replies.delete();
        connection.close();
        return found;
    }

    private static Object topic() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        List<MessageConsumer> consumers = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            // A topic is the client's handle of one queue: consumers that are to have all messages need one each.
            consumers.add(session.createConsumer(session.createTopic("amq.topic/news")));
        }
        MessageConsumer other = session.createConsumer(session.createTopic("amq.topic/sports"));
        MessageProducer producer = session.createProducer(session.createTopic("amq.topic/news"));
        producer.send(session.createTextMessage("to all"));
        List<Object> found = new ArrayList<>();
        for (MessageConsumer each : consumers) {
            found.addAll(texts(each, 1));
        }
        Object elsewhere = other.receive(SHORT);
        connection.close();
        return map("found", found, "elsewhere", elsewhere);
    }

    // The server knows no selectors: the client looks at every message and acquires what it wants.
    private static Object acquire() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "acquire");
        MessageProducer producer = session.createProducer(queue);
        for (int n = 0; n < 6; n++) {
            TextMessage message = session.createTextMessage("m" + n);
            message.setIntProperty("n", n);
            producer.send(message);
        }
        MessageConsumer odd = session.createConsumer(queue, "n = 1 OR n = 3 OR n = 5");
        List<Object> found = texts(odd, 3);
        odd.close();
        Object left = texts(session.createConsumer(queue), 3);
        connection.close();
        return map("odd", found, "left", left);
    }

    private static Object recover() throws Exception {
        AMQConnection connection = open();
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        Queue queue = queue(session, "recover");
        send(session, queue, "one", "two", "three");
        MessageConsumer consumer = session.createConsumer(queue);
        List<Object> first = new ArrayList<>();
        first.add(redelivery(consumer.receive(WAIT)));
        first.add(redelivery(consumer.receive(WAIT)));
        session.recover();
        List<Object> again = new ArrayList<>();
        Message last = null;
        for (int n = 0; n < 3; n++) {
            last = consumer.receive(WAIT);
            again.add(redelivery(last));
        }
        last.acknowledge();
        Object left = consumer.receive(SHORT);
        connection.close();
        return map("first", first, "again", again, "left", left);
    }

    private static final class Branch implements Xid {
        private final byte number;

        Branch(int number) {
            this.number = (byte) number;
        }

        @Override
        public int getFormatId() {
            return 5;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return new byte[] {'g', number};
        }

        @Override
        public byte[] getBranchQualifier() {
            return new byte[] {'b', number};
        }
    }

    private static Object branches() throws Exception {
        XAConnectionImpl connection = new XAConnectionImpl(new AMQConnectionURL(url("guest", "guest", "/", "", "")));
        connection.start();
        XASession xa = connection.createXASession();
        XAResource resource = xa.getXAResource();
        Session session = xa.getSession();
        Session observing = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(observing, "branches");
        MessageProducer producer = session.createProducer(queue);
        QueueBrowser browser = observing.createBrowser(queue);

        Xid one = new Branch(1);
        resource.start(one, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("two phases"));
        resource.end(one, XAResource.TMSUCCESS);
        int vote = resource.prepare(one);
        Object prepared = texts(browser);
        int inDoubt = resource.recover(XAResource.TMSTARTRSCAN).length;
        resource.commit(one, false);
        Object committed = texts(browser);

        Xid two = new Branch(2);
        resource.start(two, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("never"));
        resource.end(two, XAResource.TMSUCCESS);
        resource.rollback(two);
        Object rolledBack = texts(browser);

        Xid three = new Branch(3);
        resource.start(three, XAResource.TMNOFLAGS);
        producer.send(session.createTextMessage("one phase"));
        resource.end(three, XAResource.TMSUCCESS);
        resource.commit(three, true);
        Object onePhase = texts(browser);

        Object timeout = resource.setTransactionTimeout(90);
        connection.close();
        return map("vote", vote == XAResource.XA_OK, "prepared", prepared, "inDoubt", inDoubt, "committed", committed,
                "rolledBack", rolledBack, "onePhase", onePhase, "timeout", timeout);
    }

    private Client_0_10() {
    }
}
