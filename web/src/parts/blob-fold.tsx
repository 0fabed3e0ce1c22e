import type { JSX } from 'preact';
import { send } from '../api/http.ts';
import { bytes, shortHash } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { Fold } from './fold.tsx';
import { Plain } from './markdown.tsx';

const BYTES_SHOWN = 65_536;

const SHA256 = /^blob:sha256:/;

/** A reference to a blob. What is in it is read when somebody opens it, and shown as text. */
export function BlobFold({ hash }: { hash: string }): JSX.Element {
  const isSha256 = SHA256.test(hash);
  const detail = `${isSha256 ? 'sha256' : 'b3'}:${shortHash(hash.replace(SHA256, ''))}`;
  return (
    <Fold label={isSha256 ? 'Long text' : 'Reference'} detail={detail}>
      <BlobText hash={hash} />
    </Fold>
  );
}

function BlobText({ hash }: { hash: string }): JSX.Element {
  const blob = useLoad(`blob ${hash}`, async (signal) => {
    const headers = { Range: `bytes=0-${BYTES_SHOWN - 1}` };
    const response = await send('getBlob', { ref: hash }, { headers, signal });
    const [, whole] = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
    const data = await response.arrayBuffer();
    return { text: new TextDecoder().decode(data), left: Number(whole ?? 0) - data.byteLength };
  });
  if (blob.error !== undefined) return <p class="bad">{blob.error.message}</p>;
  if (blob.value === undefined) return <p class="muted">Loading …</p>;
  return (
    <>
      <Plain text={blob.value.text} />
      {blob.value.left > 0 && <p class="muted">and {bytes(blob.value.left)} more</p>}
    </>
  );
}
