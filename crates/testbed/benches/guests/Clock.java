/**
 * Prints what one reading of System.nanoTime costs: nanoseconds per call, one line for each batch
 * of calls. The first batches, which the compiler looks at, are not printed.
 *
 * <p>Usage: java Clock.java BATCHES CALLS
 */
final class Clock {
    private static final int UNPRINTED = 5;

    private static long sum;

    private static double batch(int calls) {
        long begin = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            sum += System.nanoTime();
        }
        return (System.nanoTime() - begin) / (double) calls;
    }

    public static void main(String[] arguments) {
        int batches = Integer.parseInt(arguments[0]);
        int calls = Integer.parseInt(arguments[1]);
        for (int i = 0; i < UNPRINTED; i++) {
            batch(calls);
        }
        for (int i = 0; i < batches; i++) {
            System.out.printf("%.3f%n", batch(calls));
        }
        if (sum == 0) {
            System.err.println("the clock stands at nought");
        }
    }
}
