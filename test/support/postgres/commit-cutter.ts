import { TcpProxy, type Tampering } from '../tcp-proxy.ts';

/** Which half of a COMMIT gets lost with the connection: it never arrives, or its answer does not. */
export type LostHalf = 'request' | 'answer';

const NOTHING = Buffer.alloc(0);

/** Cuts the connection at the next COMMIT when told to. */
export class CommitCutter extends TcpProxy {
  readonly #target: URL;
  readonly #cuts: LostHalf[] = [];

  private constructor(target: URL) {
    super(Number(target.port));
    this.#target = target;
  }

  static start(to: string): Promise<CommitCutter> {
    return new CommitCutter(new URL(to)).listen();
  }

  /** The database, by way of this. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String(this.port);
    return url.href;
  }

  /** The next connections that commit are cut, one after the other. */
  cut(...halves: readonly LostHalf[]): void {
    this.#cuts.push(...halves);
  }

  protected override tamper(): Tampering {
    let isSilent = false;
    return {
      request: (bytes) => {
        const lost = bytes.includes('COMMIT\0') ? this.#cuts.shift() : undefined;
        isSilent = lost === 'answer';
        return lost === 'request' ? { bytes: NOTHING, cut: true } : { bytes, cut: false };
      },
      reply: (bytes) => (isSilent ? { bytes: NOTHING, cut: true } : { bytes, cut: false }),
    };
  }
}
