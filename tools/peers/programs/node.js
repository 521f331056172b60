// A service of Node.js: each answer has the number that was asked for, and one that waits takes its time.
const http = require('http');
const { randomBytes } = require('crypto');

const PORT = 8124;

function serve() {
  const known = new Set();
  http.createServer((asked, answer) => {
    const url = new URL(asked.url, 'http://server');
    const wait = Number(url.searchParams.get('wait') || 0);
    const token = randomBytes(16).toString('hex');
    const isNew = !known.has(token);
    known.add(token);
    setTimeout(() => answer.end(JSON.stringify({ number: url.searchParams.get('number'), isNew })), wait);
  }).listen(PORT, '0.0.0.0');
}

function ask(address, query, agent) {
  return new Promise((resolve, reject) => {
    const begin = process.hrtime.bigint();
    const asked = http.get({ host: address, port: PORT, path: `/?${query}`, agent }, (answer) => {
      let text = '';
      answer.on('data', (piece) => { text += piece; });
      answer.on('end', () => resolve({ ...JSON.parse(text), tookMs: Number(process.hrtime.bigint() - begin) / 1e6 }));
    });
    asked.on('error', reject);
  });
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const fact = (what, holds) => console.log(`fact ${what}: ${holds ? 'yes' : 'no'}`);

async function client(address) {
  const agent = new http.Agent({ keepAlive: true });
  for (;;) {
    try { await ask(address, 'number=0'); break; } catch { await sleep(100); }
  }
  const one = [];
  for (let number = 0; number < 50; number += 1) one.push(await ask(address, `number=${number}`, agent));
  fact('50 answers one after the other are right', one.every((answer, n) => answer.number === `${n}` && answer.isNew));
  const all = await Promise.all([...Array(50).keys()].map((n) => ask(address, `number=${n}&wait=${10 * n}`)));
  fact('50 answers at once are right', all.every((answer, n) => answer.number === `${n}` && answer.isNew));
  fact('an answer that waits takes its time', all.every((answer, n) => answer.tookMs > 10 * n - 1));
  const begin = Date.now();
  await new Promise((resolve) => {
    let ticks = 0;
    const timer = setInterval(() => { ticks += 1; if (ticks === 40) { clearInterval(timer); resolve(); } }, 50);
  });
  const tookMs = Date.now() - begin;
  fact('40 intervals of 50 ms take their time', tookMs >= 1990 && tookMs < 4000);
  agent.destroy();
  process.exit(0);
}

if (process.argv[2] === 'server') serve(); else client(process.argv[3]);
