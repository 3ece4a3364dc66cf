package sessions;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * One session for each framework of Java: its documented first example, and a small load.
 *
 * <p>Usage: {@code sessions.Main HOST:PORT}. Prints one line for each framework, and exits with 1 if
 * one failed.
 */
public final class Main {
  /** The calls of one framework. */
  interface Session {
    void run(String host, int port) throws Exception;
  }

  private Main() {}

  public static void main(String[] args) {
    String host = args[0].substring(0, args[0].lastIndexOf(':'));
    int port = Integer.parseInt(args[0].substring(host.length() + 1));
    Map<String, Session> sessions = new LinkedHashMap<>();
    sessions.put("Redisson", RedissonSession::run);
    sessions.put("Spring Data Redis", SpringSession::run);
    boolean failed = false;
    for (Map.Entry<String, Session> session : sessions.entrySet()) {
      try {
        session.getValue().run(host, port);
        System.out.println(session.getKey() + ": works");
      } catch (Exception | AssertionError error) {
        failed = true;
        System.out.println(session.getKey() + ": FAILED: " + error);
        error.printStackTrace();
      }
    }
    // The frameworks may leave threads behind.
    System.exit(failed ? 1 : 0);
  }

  /** Fails unless both are equal. */
  static void equal(Object got, Object expected) {
    if (!Objects.equals(got, expected)) {
      throw new AssertionError(got + ", not " + expected);
    }
  }
}
