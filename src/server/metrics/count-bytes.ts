import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { Tally } from './tally.ts';

export interface CountedBytes {
  readonly moved: Counter<'protocol' | 'direction'>;
  /** Bytes of the binary protocol, counted with every read and every write. */
  readonly binaryIn: Tally;
  readonly binaryOut: Tally;
}

export function countBytes(registry: Registry): CountedBytes {
  const binaryIn = new Tally();
  const binaryOut = new Tally();
  const moved = new Counter({
    name: 'quipu_network_bytes_total',
    help: 'Bytes received and sent, by protocol and direction; a request of HTTP counts when it is over.',
    labelNames: ['protocol', 'direction'] as const,
    registers: [registry],
    collect() {
      binaryIn.tell(this.labels({ protocol: 'binary', direction: 'in' }));
      binaryOut.tell(this.labels({ protocol: 'binary', direction: 'out' }));
    },
  });
  return { moved, binaryIn, binaryOut };
}
