import type { Parts } from '../../wire/byte-writer.ts';
import { PROTOCOL_VERSION, encodeHelloReply } from '../../wire/hello.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';

/** The capabilities of this server, for clients that ask for them. */
const CAPS = JSON.stringify({ server: 'quipu', ext: 1, max_payload: RAW_BYTES_MAX });

export function helloParts(sessionId: bigint, quipu: boolean): Parts {
  return encodeHelloReply({
    sessionId,
    version: PROTOCOL_VERSION,
    caps: quipu ? CAPS : undefined,
  });
}
