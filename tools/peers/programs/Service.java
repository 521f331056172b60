import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A service of Java: each answer has the number that was asked for, and one that waits takes its time. */
public class Service {
    static final int PORT = 8125;

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("server")) {
            serve();
        } else {
            client(arguments[1]);
        }
    }

    static void serve() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("0.0.0.0", PORT), 100);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", asked -> {
            String[] words = asked.getRequestURI().getQuery().split("-");
            try {
                Thread.sleep(Long.parseLong(words[1]));
            } catch (InterruptedException interrupted) {
                return;
            }
            byte[] text = (words[0] + " " + UUID.randomUUID()).getBytes();
            asked.sendResponseHeaders(200, text.length);
            asked.getResponseBody().write(text);
            asked.close();
        });
        server.start();
    }

    static HttpRequest question(String address, int number, int waitMs) {
        URI uri = URI.create("http://" + address + ":" + PORT + "/?" + number + "-" + waitMs);
        return HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)).build();
    }

    static void fact(String what, boolean holds) {
        System.out.println("fact " + what + ": " + (holds ? "yes" : "no"));
    }

    static void client(String address) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        while (true) {
            try {
                client.send(question(address, 0, 0), BodyHandlers.ofString());
                break;
            } catch (java.io.IOException notThere) {
                Thread.sleep(100);
            }
        }
        boolean right = true;
        for (int number = 0; number < 30; number++) {
            String answer = client.send(question(address, number, 0), BodyHandlers.ofString()).body();
            right &= answer.startsWith(number + " ");
        }
        fact("30 answers one after the other are right", right);
        long begin = System.nanoTime();
        List<CompletableFuture<Boolean>> answers = new ArrayList<>();
        for (int number = 0; number < 10; number++) {
            int expected = number;
            answers.add(client.sendAsync(question(address, number, 300), BodyHandlers.ofString())
                .thenApply(answer -> answer.body().startsWith(expected + " ")));
        }
        boolean all = answers.stream().allMatch(CompletableFuture::join);
        double tookMs = (System.nanoTime() - begin) / 1e6;
        fact("10 answers at once are right", all);
        fact("answers that wait take their time", tookMs >= 300);
        AtomicInteger ticks = new AtomicInteger();
        var timer = Executors.newSingleThreadScheduledExecutor();
        timer.scheduleAtFixedRate(ticks::incrementAndGet, 50, 50, TimeUnit.MILLISECONDS);
        Thread.sleep(1025);
        timer.shutdownNow();
        fact("a schedule of 50 ms is kept for a second", ticks.get() >= 10 && ticks.get() <= 20);
        System.exit(0);
    }
}
