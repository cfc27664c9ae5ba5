met => {
  const known = new Set(met), fresh = new Set(), kept = new Set();
  const kind = node => `${node.tagName}.${node.getAttribute('class')}.${node.getAttribute('style')}`;
  const all = [...document.body.querySelectorAll('*')];
  for (const node of all) {
    const above = node.parentElement;
    const here = [above.parentElement, above, node].map(kind).join('>');
    if (known.has(here) || fresh.has(here)) continue;
    fresh.add(here);
    for (let one = node; one; one = one.parentElement) kept.add(one);
  }
  for (const node of all) if (!kept.has(node)) node.remove();
  return [...fresh];
}
