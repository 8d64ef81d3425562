// What the scenarios of Client_0_10 share: connections, queues, what messages say, JSON.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.jms.BytesMessage;
import javax.jms.Connection;
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
import javax.jms.TextMessage;
import org.apache.qpid.AMQException;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.client.AMQConnectionFactory;

abstract class Shared {
    static final long WAIT = 10_000;
    static final long SHORT = 300;

    static int port;

    static String url(String user, String password, String vhost, String options, String broker) {
        String more = options.isEmpty() ? "" : "&" + options;
        String retries = "retries='0'" + (broker.isEmpty() ? "" : "&" + broker);
        return "amqp://" + user + ":" + password + "@id/" + vhost.substring(vhost.length() > 1 ? 1 : 0)
                + "?failover='nofailover'" + more + "&brokerlist='tcp://127.0.0.1:" + port + "?" + retries + "'";
    }

    static AMQConnection open() throws Exception {
        return connect(url("guest", "guest", "/", "", ""));
    }

    static AMQConnection connect(String url) throws Exception {
        AMQConnection connection = new AMQConnectionFactory(url).createConnection();
        connection.start();
        return connection;
    }

    static Queue queue(Session session, String name) throws JMSException {
        return session.createQueue(name + "; {create: always}");
    }

    static void send(Session session, Queue queue, String... texts) throws JMSException {
        MessageProducer producer = session.createProducer(queue);
        for (String text : texts) {
            producer.send(session.createTextMessage(text));
        }
        producer.close();
    }

    static List<Object> texts(MessageConsumer consumer, int count) throws JMSException {
        List<Object> found = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            TextMessage message = (TextMessage) consumer.receive(WAIT);
            found.add(message == null ? null : message.getText());
        }
        return found;
    }

    static List<Object> texts(QueueBrowser browser) throws JMSException {
        List<Object> found = new ArrayList<>();
        Enumeration<?> messages = browser.getEnumeration();
        while (messages.hasMoreElements()) {
            found.add(((TextMessage) messages.nextElement()).getText());
        }
        return found;
    }

    static Object roundTrip(Connection connection, String name) throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, name);
        send(session, queue, "there and back");
        Object found = texts(session.createConsumer(queue), 1).get(0);
        session.close();
        return found;
    }

    static Object redelivery(Message message) throws JMSException {
        return message == null ? null : list(((TextMessage) message).getText(), message.getJMSRedelivered());
    }

    static Object all(Message message) throws JMSException {
        if (message == null) {
            return null;
        }
        Map<String, Object> properties = new TreeMap<>();
        for (Enumeration<?> names = message.getPropertyNames(); names.hasMoreElements();) {
            String name = (String) names.nextElement();
            Object value = message.getObjectProperty(name);
            properties.put(name, list(value.getClass().getSimpleName(), value));
        }
        Object body = null;
        if (message instanceof TextMessage) {
            body = ((TextMessage) message).getText();
        } else if (message instanceof BytesMessage) {
            byte[] octets = new byte[(int) ((BytesMessage) message).getBodyLength()];
            ((BytesMessage) message).readBytes(octets);
            body = hex(octets);
        } else if (message instanceof MapMessage) {
            Map<String, Object> entries = new TreeMap<>();
            for (Enumeration<?> names = ((MapMessage) message).getMapNames(); names.hasMoreElements();) {
                String name = (String) names.nextElement();
                Object value = ((MapMessage) message).getObject(name);
                entries.put(name, value instanceof byte[] ? hex((byte[]) value) : value);
            }
            body = entries;
        } else if (message instanceof StreamMessage) {
            body = list(((StreamMessage) message).readString(), ((StreamMessage) message).readInt());
        }
        return map("body", body, "properties", properties, "correlation", message.getJMSCorrelationID(),
                "type", message.getJMSType(), "priority", message.getJMSPriority(),
                "persistent", message.getJMSDeliveryMode() == DeliveryMode.PERSISTENT,
                "lives", message.getJMSExpiration() - message.getJMSTimestamp(),
                "replyTo", message.getJMSReplyTo() == null ? null : message.getJMSReplyTo().toString());
    }

    interface Task {
        void run() throws Exception;
    }

    static Object refused(Task task) {
        try {
            task.run();
            return null;
        } catch (Exception error) {
            return told(error);
        }
    }

    static Object told(Exception error) {
        if (error == null) {
            return null;
        }
        String code = error instanceof JMSException ? ((JMSException) error).getErrorCode() : null;
        if (error instanceof AMQException) {
            code = String.valueOf(((AMQException) error).getErrorCode());
        }
        return map("kind", error.getClass().getSimpleName(), "code", code, "text", String.valueOf(error.getMessage()));
    }

    static String hex(byte[] octets) {
        StringBuilder text = new StringBuilder();
        for (byte octet : octets) {
            text.append(String.format("%02x", octet));
        }
        return text.toString();
    }

    static List<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    static Map<String, Object> map(Object... namesAndValues) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int n = 0; n < namesAndValues.length; n += 2) {
            found.put((String) namesAndValues[n], namesAndValues[n + 1]);
        }
        return found;
    }

    static String json(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return String.valueOf(value);
        }
        List<String> parts = new ArrayList<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                parts.add(json(String.valueOf(each.getKey())) + ": " + json(each.getValue()));
            }
            return "{" + String.join(", ", parts) + "}";
        }
        if (value instanceof List) {
            for (Object each : (List<?>) value) {
                parts.add(json(each));
            }
            return "[" + String.join(", ", parts) + "]";
        }
        StringBuilder text = new StringBuilder("\"");
        for (char each : String.valueOf(value).toCharArray()) {
            boolean plain = each >= ' ' && each < 127 && each != '"' && each != '\\';
            text.append(plain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        return text.append('"').toString();
    }
}
