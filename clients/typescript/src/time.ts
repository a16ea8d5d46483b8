/**
 * Work that ends in time: after that many seconds its signal aborts and the result is `late`'s error, whatever the work does.
 * The reason of the caller's own signal passes through.
 */
export async function within<T>(
  seconds: number,
  signal: AbortSignal | undefined,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const ends = new AbortController();
  const leave = () => ends.abort(signal?.reason);
  const timer = setTimeout(() => ends.abort(late()), Math.max(seconds, 0) * 1000);
  signal?.addEventListener("abort", leave, { once: true });
  const over = new Promise<never>((_, reject) => {
    ends.signal.addEventListener("abort", () => reject(ends.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(ends.signal), over]);
  } catch (err) {
    throw ends.signal.aborted ? ends.signal.reason : err;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}

/** A pause of that many seconds. */
export async function pause(seconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
