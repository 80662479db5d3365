// Draws everything once the page is there, and keeps the colours in step with the theme.

const maps = {};

for (const figure of document.querySelectorAll('figure[data-chart]')) {
  showChart(figure.querySelector('.plot'), page.charts[figure.dataset.chart]);
}
for (const article of document.querySelectorAll('article[data-map]')) {
  maps[article.dataset.map] = new MapView(article, page.maps[article.dataset.map]);
}
for (const button of document.querySelectorAll('button[data-show]')) {
  const [run, point] = button.dataset.show.split(':');
  button.addEventListener('click', () => {
    maps[run].visit(Number(point));
    maps[run].article.scrollIntoView();
  });
}

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)');
const switcher = document.getElementById('theme');

function isDark() {
  return (document.documentElement.dataset.theme ?? (darkSystem.matches ? 'dark' : 'light')) === 'dark';
}

function repaint() {
  switcher.textContent = isDark() ? 'Light mode' : 'Dark mode';
  for (const map of Object.values(maps)) map.repaint();
}

switcher.addEventListener('click', () => {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  repaint();
});
darkSystem.addEventListener('change', repaint);
let before;
window.addEventListener('beforeprint', () => {
  before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
  repaint();
  for (const map of Object.values(maps)) map.scene.draw();  // now: the printer does not wait for the next frame
});
window.addEventListener('afterprint', () => {
  if (before) document.documentElement.dataset.theme = before;
  else delete document.documentElement.dataset.theme;
  repaint();
});
repaint();
document.documentElement.dataset.ready = 'true';
