/**
 * The stream reads a piece when it is asked for one, so memory stays bounded whatever the total size. `onCancel` ends a
 * wait for the next piece.
 */
export function toStream<T>(
  pieces: AsyncGenerator<T, void, undefined>,
  onCancel: () => void = () => undefined,
): ReadableStream<T> {
  return new ReadableStream<T>(
    {
      async pull(controller) {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        onCancel();
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}
