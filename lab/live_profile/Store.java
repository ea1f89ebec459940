/** A store on the heap of a JVM: values by key, read by zipf for ever. Arguments: MiB of values, reads a second. */
final class Store {
    private static final int VALUE_BYTES = 1024;
    private static final double EXPONENT = 0.99;

    public static void main(String[] arguments) throws InterruptedException {
        int count = Integer.parseInt(arguments[0]) * (1 << 20) / VALUE_BYTES;
        int readsPerSecond = Integer.parseInt(arguments[1]);
        byte[][] values = new byte[count][];
        double[] cumulated = new double[count];
        double sum = 0;
        for (int rank = 0; rank < count; rank++) {
            values[rank] = new byte[VALUE_BYTES];
            sum += 1 / Math.pow(rank + 1, EXPONENT);
            cumulated[rank] = sum;
        }
        java.util.Random random = new java.util.Random(7);
        System.out.println("filled");
        long read = 0;
        while (read >= 0) {
            for (int done = 0; done < readsPerSecond / 10; done++) {
                int rank = java.util.Arrays.binarySearch(cumulated, random.nextDouble() * sum);
                read += values[(int) ((rank < 0 ? -rank - 1 : rank) * 7919L % count)][0];
            }
            Thread.sleep(100);
        }
    }
}
