// A list, a page per item and a page in a separate bundle, with a router on the history API.
import { lazy, Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter, Link, Route, Routes, useParams } from 'react-router';
import { api } from '../api.js';

const About = lazy(() => import('./about.jsx'));

function useCatalogue() {
  const [catalogue, setCatalogue] = useState({ shop: '', items: [] });
  useEffect(() => {
    let shown = true;
    api('items').then((found) => shown && setCatalogue(found));
    return () => {
      shown = false;
    };
  }, []);
  return catalogue;
}

function List() {
  const { shop, items } = useCatalogue();
  if (items.length === 0) return <p>Loading</p>;
  return (
    <main>
      <h1>{shop}</h1>
      <p>{`${items.length} lamps are on sale at ${shop} this week.`}</p>
      <ul>
        {items.map((item) => (
          <li key={item.id}>
            <Link to={`/items/${item.id}/`}>{item.name}</Link>
            <p>{item.text}</p>
          </li>
        ))}
      </ul>
    </main>
  );
}

function Item() {
  const { items } = useCatalogue();
  const id = Number(useParams().id);
  const item = items.find((each) => each.id === id);
  if (!item) return <p>Loading</p>;
  return (
    <main>
      <h1>{item.name}</h1>
      <p>{`Number ${item.id} of ${items.length}: the ${item.name.toLowerCase()} costs ${item.euros} euros.`}</p>
      <p>{item.text}</p>
    </main>
  );
}

function App() {
  return (
    <BrowserRouter basename="/react">
      <nav>
        <Link to="/">All lamps</Link> <Link to="/about/">About us</Link>
      </nav>
      <Suspense fallback={<p>Loading</p>}>
        <Routes>
          <Route path="/" element={<List />} />
          <Route path="/items/:id" element={<Item />} />
          <Route path="/about" element={<About />} />
        </Routes>
      </Suspense>
    </BrowserRouter>
  );
}

createRoot(document.getElementById('app')).render(<App />);
