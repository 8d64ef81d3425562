import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * Runs scenarios one after the other. A line of standard input is a request, {"scenario": NAME, "port": NUMBER}; a line
 * of standard output what was found, {"told": ...} or {"failed": TEXT}. Before that {"advance": SECONDS} asks for the
 * service's clock to be moved, which a line answers.
 */
final class Program {
    /** What a scenario finds. */
    interface Scenario {
        Object run() throws Exception;
    }

    /** A service with its scenarios, for one of them. */
    interface Service {
        Map<String, Scenario> scenarios();

        void close() throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final BufferedReader INPUT =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private Program() {
    }

    static void serve(IntFunction<Service> at) throws Exception {
        for (String line = INPUT.readLine(); line != null; line = INPUT.readLine()) {
            JsonNode request = JSON.readTree(line);
            Service service = at.apply(request.get("port").asInt());
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("told", service.scenarios().get(request.get("scenario").asText()).run());
            } catch (Exception error) {
                String own = service.getClass().getName();
                answer.put("failed", error + "\n" + String.join("\n", Arrays.stream(error.getStackTrace())
                    .map(StackTraceElement::toString).filter(each -> each.startsWith(own)).toList()));
            }
            service.close();
            say(answer);
        }
        System.exit(0);
    }

    static void advance(int seconds) throws IOException {
        say(Map.of("advance", seconds));
        INPUT.readLine();
    }

    private static void say(Object value) throws IOException {
        System.out.println(JSON.writeValueAsString(value));
    }
}
