/** The stream reads at most one piece ahead, so memory stays bounded whatever the total size. */
export function toStream(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}
