import { TcpProxy, type Passed, type Tampering } from './tcp-proxy.ts';

/** What becomes of one connection through the proxy; Infinity for no limit. */
export interface Cut {
  /** Bytes from the client that are passed on before both sides are cut off. */
  readonly requestBytes: number;
  /** Bytes from the server that are passed on before that. */
  readonly replyBytes: number;
}

const NO_CUT: Cut = { requestBytes: Infinity, replyBytes: Infinity };

/** Drops connections after so many bytes. */
export class CuttingProxy extends TcpProxy {
  /** For the connections to come, one each; those after the last are left alone. */
  readonly cuts: Cut[] = [];
  /** Bytes that went each way over the connection that came last. */
  passed: { request: number; reply: number } = { request: 0, reply: 0 };
  /** Nothing is passed on while this is set, and nothing is cut off. */
  frozen = false;

  static start(targetPort: number): Promise<CuttingProxy> {
    return new CuttingProxy(targetPort).listen();
  }

  protected override tamper(): Tampering {
    const cut = this.cuts.shift() ?? NO_CUT;
    const passed = { request: 0, reply: 0 };
    this.passed = passed;
    const pass = (bytes: Buffer, way: 'request' | 'reply', most: number): Passed => {
      if (this.frozen) return { bytes: Buffer.alloc(0), cut: false };
      const room = most - passed[way];
      passed[way] += bytes.length;
      const end = Math.max(0, Math.min(room, bytes.length));
      return { bytes: bytes.subarray(0, end), cut: bytes.length >= room };
    };
    return {
      request: (bytes) => pass(bytes, 'request', cut.requestBytes),
      reply: (bytes) => pass(bytes, 'reply', cut.replyBytes),
    };
  }
}
