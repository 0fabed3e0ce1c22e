const MEGABYTES = 16;
const NUMBERS = 131_072;

const held: number[][] = [];

/**
 * Holds as much as a small application does. V8 collects all of a heap when the buffers that have passed since
 * amount to a share of what is alive: in a process that holds nothing, that is after every few hundred appends of
 * 10 KB, and no application sees it.
 */
export function holdHeap(): void {
  for (let i = 0; i < MEGABYTES; i += 1) {
    held.push(Array.from({ length: NUMBERS }, (_, at) => at + 0.5));
  }
}
