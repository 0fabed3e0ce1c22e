// A web page that talks to a store. Start this, then a server that allows its origin:
//   node examples/browser-client.mjs 8000
//   quipu serve --allow-origin http://127.0.0.1:8000
// Open http://127.0.0.1:8000/?server=http://127.0.0.1:7410 in two windows: each shows what the other one says.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Quipu in a page</title>
<ol id="turns"></ol>
<form><input name="text" aria-label="Message" required><button disabled>Say</button></form>
<script type="module">
  import { WebClient } from '/quipudb/browser.js';

  const client = new WebClient(new URLSearchParams(location.search).get('server'));
  const room = await client.getOrCreateContext('rooms/lobby');
  document.querySelector('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const { text } = event.target.elements;
    await client.append(room.id, { type: 'chat.message', payload: text.value });
    text.value = '';
  });
  document.querySelector('button').disabled = false;
  // Turns that exist, then new ones, without a gap, also after a lost connection.
  for await (const turn of client.follow(room.id)) {
    const item = document.createElement('li');
    item.textContent = turn.payload;
    document.querySelector('#turns').append(item);
  }
</script>
`;

/** The folder with the client for browsers; a bundler would find it as 'quipudb/browser'. */
const client = new URL('.', import.meta.resolve('quipudb/browser'));

async function answer(request, response) {
  try {
    const { pathname } = new URL(request.url, 'http://localhost');
    const script = /^\/quipudb\/((?:chunks\/)?[\w-]+\.js)$/.exec(pathname);
    const body = script === null ? PAGE : await readFile(new URL(script[1], client));
    const type = script === null ? 'text/html' : 'text/javascript';
    response.writeHead(200, { 'Content-Type': `${type}; charset=utf-8` }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}

const server = createServer((request, response) => void answer(request, response));
server.listen(Number(process.argv[2] ?? 8000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
